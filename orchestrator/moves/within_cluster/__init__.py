"""What is changed within one cluster: who leads, what a lost site asks for, and all of it put back."""
