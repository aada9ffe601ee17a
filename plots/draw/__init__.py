"""The pictures. Each is a function of the records, which gives a figure or raises records.Missing."""
