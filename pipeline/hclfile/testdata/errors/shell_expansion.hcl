task "a" {
  run = "echo ${HOME:-/root}" # ERROR: If the shell is meant, write $${HOME:-/root}.
}
