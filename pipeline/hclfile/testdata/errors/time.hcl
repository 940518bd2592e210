task "a" {
  run     = ["true"]
  timeout = 90 # ERROR: Write "90s" for seconds or "90m" for minutes.
}
task "b" {
  run     = ["true"]
  timeout = "5 minutes" # ERROR: timeout is not a time
}
task "c" {
  run     = ["true"]
  timeout = true # ERROR: timeout must be a time such as "5m"
}
task "d" {
  run     = ["true"]
  timeout = "0" # ERROR: timeout must be longer than nothing
}
task "e" {
  run     = ["true"]
  timeout = "9999999h30m" # ERROR: timeout is too long: The longest is 2562047h.
}
task "f" {
  run     = ["true"]
  timeout = "99999999999999999999 hours" # ERROR: timeout is not a time
}
