"""The process back end: a data centre is a supervisor with real servers, all of them on one loopback."""
