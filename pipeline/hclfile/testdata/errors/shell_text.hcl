variable "v" {
  default = "x"
}
task "a" {
  run = "cd ${HOME} && ls" # ERROR: HOME is not a pipeline value: write $HOME, or $${HOME}
}
task "b" {
  run = <<-EOT
    echo fine $HOME $(pwd)
    echo ${USER} # ERROR: write $USER, or $${USER}
  EOT
}
task "c" {
  run = "echo ${v}" # ERROR: Did you mean var.v?
}
task "d" {
  run = "echo ${vra.v}" # ERROR: Did you mean var?
}
task "e" {
  run = ["sh", "-c", "echo ${HOME}"] # ERROR: or $${HOME} for a shell to read
}
