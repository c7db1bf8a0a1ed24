"""What must survive a crash: the SQLite file, the transactions, the records, and recovery."""
