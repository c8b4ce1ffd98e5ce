"""The outside world: Kafka, Connect, ZooKeeper, Ansible, Spark, files. They know no policy."""
