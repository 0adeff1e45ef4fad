"""How does a transcript that another program wrote become events of ours?

Pure translation only: a source's lines go in, events with their source lines come
out, and whatever could not be carried is named in a loss list. Nothing here reads a
file or writes to the log.
"""
