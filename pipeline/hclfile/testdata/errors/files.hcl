locals {
  absent   = file("nothing/here.txt")      # ERROR: there is no file nothing/here.txt in the folder of PIPELINE.hcl: correct the path
  outside  = file("../good/language.hcl")  # ERROR: ../good/language.hcl leaves the folder of PIPELINE.hcl
  absolute = file("/etc/hostname")         # ERROR: /etc/hostname is an absolute path
  empty    = file(" ")                     # ERROR: it is empty: write the name of a file
  folder   = file(".")                     # ERROR: . is a folder: name a file
  below    = file("files.hcl/x")           # ERROR: there is no file files.hcl/x
  named    = file(secret("TOKEN"))         # ERROR: The reason is not shown
  sum      = filesha256("../x")            # ERROR: ../x leaves the folder of PIPELINE.hcl
  set      = fileset("/x/*")               # ERROR: /x/* is an absolute path
  up       = fileset("a/{b,..}/*")         # ERROR: leaves the root
  open     = fileset("[a")                 # ERROR: [a cannot be read: brackets and braces must be closed
  two      = fileset(".", "*.hcl")         # ERROR: Too many function arguments
  nothing  = fileset("")                   # ERROR: it is empty: write a pattern
  mistyped = flie("x")                     # ERROR: Did you mean file?
}
