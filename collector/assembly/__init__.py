"""Open traces and conversations: what is known of each until its verdict, and when that is due."""
