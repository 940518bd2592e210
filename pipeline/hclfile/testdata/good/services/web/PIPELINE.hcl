variable "port" {
  type    = number
  default = 80
}
task "serve" {
  run = ["./serve", "${var.port}"]
}
