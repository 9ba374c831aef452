// Reminds a person each day until there is an answer, three times at most.
async function remind(inputs) {
  const answer = wait_for_signal("answered");
  for (let n = 1; n <= 3; n++) {
    console.log(`reminder ${n} to ${inputs.who}`);
    const first = await Task.race([answer, Task.delay(inputs.seconds ?? 86400)]);
    if (first.item_id == answer) return { answer: first.result, reminders: n };
  }
  return { answer: null, reminders: 3 };
}
