// One row of the table of attacks: what somebody tries, what must come of it, and the attempt itself.

/** An attack that must fail; `attempt` makes it against a real server and asserts the outcome. */
export interface Attack {
  /** What the attacker does, as a sentence without a subject: "signs in with …". */
  readonly attack: string
  /** What happens instead. */
  readonly outcome: string
  readonly attempt: () => Promise<void>
}
