task "a" {
  run = ["go test ./..."] # ERROR: Write run = ["go", "test", "./..."], or run = "go test ./..." for the shell.
}
task "b" {
  run = ["make test | tee log"] # ERROR: Write run = "make test | tee log" for the shell.
  on_fail "run" {
    run = ["notify me"] # ERROR: Write run = ["notify", "me"]
  }
}
task "path" {
  run = ["./my tools/check"]
}
agent "c" {
  command = ["claude -p"] # ERROR: Write command = ["claude", "-p"].
}
