task "a" {
  run = "curl -w '%{http_code}' https://example.com" # ERROR: Inside %{ } is a directive such as if or for. If a program is meant, write %%{http_code}.
}
