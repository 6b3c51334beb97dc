"""What the benchmark evaluates: an agent and a grader that cost nothing themselves."""
