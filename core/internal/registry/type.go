package registry

import "github.com/reprise-run/reprise/core/history"

// Type says why a payload does not fit a type; nil if it does.
type Type func(history.Payload) error

// TypeOf is the type of what code decodes as a T.
func TypeOf[T any]() Type {
	return func(payload history.Payload) (err error) {
		defer func() {
			if recover() != nil { // the type's own code panicked: that is for the code that decodes it to say
				err = nil
			}
		}()
		_, err = history.Decode[T](payload)
		return err
	}
}

// FitsWorkflow says why an input does not fit a workflow; nil if it does, or if the workflow is not
// registered.
func (r *Registry) FitsWorkflow(name string, input history.Payload) error {
	return r.inputs[name].fits(input)
}

// FitsActivity says why a result does not fit an activity; nil if it does, or if the activity is not
// registered.
func (r *Registry) FitsActivity(name string, result history.Payload) error {
	return r.results[name].fits(result)
}

// FitsSignal says why an input fits no signal of this name; nil if it fits one, or if none is
// registered.
func (r *Registry) FitsSignal(name string, input history.Payload) (err error) {
	for _, signal := range r.signals[name] {
		if err = signal.fits(input); err == nil {
			return nil
		}
	}
	return err
}

func (t Type) fits(payload history.Payload) error {
	if t == nil {
		return nil
	}
	return t(payload)
}
