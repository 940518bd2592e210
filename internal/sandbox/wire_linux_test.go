package sandbox

import (
	"reflect"
	"strings"
	"testing"
)

func TestFrames(t *testing.T) {
	t.Parallel()
	for _, r := range []request{
		{id: 1, path: "/bin/true", dir: "/", argv: []string{"true"}, env: []string{"A=1", "B="}},
		{id: 1<<32 - 1, how: startInner | startMounts, std: [3]byte{1, 2, 2}, path: "", dir: "", argv: []string{"", "\xff", ""}, env: []string{}},
		{id: 7, path: "p", dir: "d", argv: []string{}, env: []string{strings.Repeat("x", 1<<20)}},
	} {
		b := r.append([]byte("before"), 2)[len("before"):]
		got := request{id: r.id}
		fds, err := got.parse(b[frameHead:])
		if err != nil || fds != 2 || !reflect.DeepEqual(got, r) {
			t.Errorf("%v %d %.200v, want %.200v", err, fds, got, r)
		}
		for _, bad := range [][]byte{nil, b[frameHead : len(b)-1], b[frameHead : frameHead+12], append(b[frameHead:len(b):len(b)], 'x')} {
			if _, err := new(request).parse(bad); err == nil {
				t.Errorf("%.100q was read", bad)
			}
		}
	}
	for _, m := range []notice{
		{},
		{kind: noticeReport, signal: 64, told: true, unfit: true, id: 1<<32 - 1, code: 255, left: 1 << 20, stuck: 3},
		{kind: noticeEnded, told: true},
		{kind: noticeNever, unfit: true, code: 11},
	} {
		if b := m.append(nil); len(b) != noticeLen || parseNotice(b) != m {
			t.Errorf("%+v, want %+v", parseNotice(b), m)
		}
	}
}
