"""Every promise of durability, attacked: killed, full, stopped, gone, lied to."""
