package record

// Interrupted returns the ids of runs without run.json whose maker is no longer alive, oldest first.
func (s *Store) Interrupted() ([]string, error) {
	ids, err := s.ids()
	if err != nil {
		return nil, err
	}
	var out []string
	for _, id := range ids {
		if s.hasVerdict(id) {
			continue
		}
		if there, live := s.maker(id); !there || live {
			continue
		}
		// The maker may have sealed the run and ended while we looked.
		if !s.hasVerdict(id) {
			out = append(out, id)
		}
	}
	return out, nil
}
