//! What is taken over from an installation of Cacti.
