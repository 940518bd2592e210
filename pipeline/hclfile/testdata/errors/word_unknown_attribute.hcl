task "a" {
  run     = ["true"]
  ouptuts = ["bin/**"] # ERROR: Did you mean outputs?
  comand  = "x"        # ERROR: There are: description, depends_on, run
}
