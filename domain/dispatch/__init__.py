"""Does a request go on warm, cold, later, or not at all? One pure decision, and its reasons."""
