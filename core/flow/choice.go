package flow

// choice takes the first case that holds (S4.39), else what post and default_action say (S4.41).
func (v *visit) choice() (outcome, error) {
	budget := workPerGo
	chosen := ""
	for _, c := range v.node.Cases {
		before := budget
		holds, err := c.Expr.Eval(v.values, &budget)
		v.pace.work += before - budget
		if err != nil {
			return v.end(nil, "", failed("choice %q: %v", c.Action, err))
		}
		if holds {
			chosen = c.Action
			break
		}
	}
	input := v.frame.Now.Input
	if failure := v.output(input, input); failure != nil {
		return v.end(nil, "", failure)
	}
	return v.end(input, v.chosen(chosen), nil)
}

// chosen is the action of a choice.
func (v *visit) chosen(byCase string) string {
	if byCase != "" {
		return byCase
	}
	if action := v.action(wrap("v", v.frame.Now.Input)); action != "" {
		return action
	}
	if v.node.Post.ActionKey != "" {
		if action := text(v.node.Post.action.Of(v.frame.Shared)); action != "" {
			return action
		}
	}
	return v.node.DefaultAction
}
