pipeline {
  name = "a"
}
pipeline { # ERROR: a second pipeline block
  name = "b"
}
task "a" {
  run = ["true"]
  run = ["false"] # ERROR: "run" is written twice: Write each attribute once
  dir = "/abs"    # ERROR: dir is an absolute path
}
