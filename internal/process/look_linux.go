package process

import (
	"bytes"
	"os"
	"strconv"
	"strings"
)

func boot() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return unknown
	}
	return strings.TrimSpace(string(b))
}

// look returns when a process began, and whether it is a zombie; known is false if /proc does not tell.
func look(pid int) (start uint64, ended, known bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, false, false
	}
	// The second field is the program's name in brackets; it may contain spaces and brackets itself.
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(fields) < 20 {
		return 0, false, false
	}
	start, err = strconv.ParseUint(fields[19], 10, 64)
	return start, fields[0] == "Z" || fields[0] == "X", err == nil
}
