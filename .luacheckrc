-- gen/*.lua run inside attnc, which gives them the table `attnc`; a module that adds to it is a bug.
std = "lua54"
max_line_length = 100
files["gen"] = { read_globals = { "attnc" } }
