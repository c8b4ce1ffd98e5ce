"""Java and the servers that run on it: parts, the Java itself, command lines, prepared files.

parts       the committed lists (`*.lock`); `resolve` makes them
cache       where jars lie; `download` brings them there
detection   which Java; `install` brings one (both need nothing but the standard library)
runtime     a usable Kafka: class path and folder; Spark's connector
commands    the command line of a server
archives    class data sharing archives: servers start in about half the time
calls       py4j, which calls into a Java process from Python
formatting  storage of a KRaft node, without a JVM for each
client_properties  librdkafka's client properties in the words of Java's clients
"""
