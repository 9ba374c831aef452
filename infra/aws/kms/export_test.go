package kms

import "time"

// At has the keys go by another clock.
func (k *Keys) At(now func() time.Time) { k.now = now }
