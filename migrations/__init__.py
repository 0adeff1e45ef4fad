"""Which steps bring a database from nothing, or from an older build, to this build's schema?"""
