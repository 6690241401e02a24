// One row of the table of attacks: the attack, the expected outcome, and the test.

/** An attack that must fail; `attempt` makes it against a real server and asserts the outcome. */
export interface Attack {
  /** What the attacker does, as a sentence without a subject: "signs in with …". */
  readonly attack: string
  /** The expected outcome. */
  readonly outcome: string
  readonly attempt: () => Promise<void>
}
