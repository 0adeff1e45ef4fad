"""Where does a conversation happen, and which one is it: the lanes of chat platforms."""
