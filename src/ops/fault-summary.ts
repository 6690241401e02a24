// Keeps a repeated fault from filling the log: logs the first of each kind in full, and counts the others.

/** Receives the lines. */
interface FaultLines {
  full(message: string, cause: unknown): void
  summary(message: string): void
}

/** Faults of the last minute, by kind. */
interface FaultSummary {
  note(message: string, cause: unknown): void
  /** Logs the counts since the last call and drops kinds that did not recur; call once a minute. */
  flush(): void
}

/** Further kinds are counted together as one. */
const MAX_KINDS = 64
const MAX_KIND_LENGTH = 200

/** The kind does not depend on the route: a lost database affects all of them. */
export function createFaultSummary(lines: FaultLines): FaultSummary {
  const repeated = new Map<string, number>()
  return {
    note(message, cause) {
      const kind = kindOf(message, cause)
      const counted = repeated.has(kind) || repeated.size < MAX_KINDS ? kind : 'faults of many kinds'
      const count = repeated.get(counted)
      repeated.set(counted, count === undefined ? 0 : count + 1)
      if (count === undefined) lines.full(message, cause)
    },
    flush() {
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
