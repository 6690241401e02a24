// Keeps a fault that repeats from filling the log: the first of its kind is told in full, the others are counted.

/** Where the lines go. */
export interface FaultLines {
  full(message: string, cause: unknown): void
  summary(message: string): void
}

/** Faults of the last minute, by kind. */
export interface FaultSummary {
  note(message: string, cause: unknown): void
  /** Tells the counts since the last call, and forgets kinds that did not repeat; to be called every minute. */
  tell(): void
}

/** What comes in more kinds is counted as one. */
const MAX_KINDS = 64
const MAX_KIND_LENGTH = 200

/** The same cause is one kind on whichever route it strikes: a database that is away strikes all of them. */
export function createFaultSummary(lines: FaultLines): FaultSummary {
  const repeated = new Map<string, number>()
  return {
    note(message, cause) {
      const kind = kindOf(message, cause)
      const known = repeated.has(kind) || repeated.size < MAX_KINDS ? kind : 'faults of many kinds'
      const count = repeated.get(known)
      repeated.set(known, count === undefined ? 0 : count + 1)
      if (count === undefined) lines.full(message, cause)
    },
    tell() {
      for (const [kind, count] of repeated) {
        if (count === 0) repeated.delete(kind)
        else {
          lines.summary(`${count} more within a minute: ${kind}`)
          repeated.set(kind, 0)
        }
      }
    },
  }
}

function kindOf(message: string, cause: unknown): string {
  if (!(cause instanceof Error)) return message.slice(0, MAX_KIND_LENGTH)
  const code: unknown = Reflect.get(cause, 'code')
  const text = `${cause.name}${typeof code === 'string' ? ` ${code}` : ''}: ${cause.message}`
  return text.slice(0, MAX_KIND_LENGTH)
}
