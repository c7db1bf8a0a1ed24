"""Messages, arguments and tool definitions in the many shapes that senders give them."""
