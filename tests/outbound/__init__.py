"""The outbound handler: decisions by values, I/O against loopback."""
