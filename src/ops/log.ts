// The log: one JSON line for each event, written without waiting. Owns its form; refuses to know a secret.
import { pino } from 'pino'
import { createIsoNow, systemClock } from '../base/clock.ts'
import type { Audit } from '../model/event.ts'

/** The log as the rest of the server sees it. */
export interface Log {
  /** Something the operator may want to know. */
  readonly info: (message: string) => void
  /** Something the operator should change. */
  readonly warn: (message: string) => void
  /** A fault of ours, with its cause. */
  readonly fault: (message: string, cause: unknown) => void
  /** Why a caller was refused, where the caller is not told. */
  readonly refusal: (message: string) => void
  /** The audit trail. */
  readonly audit: Audit
  /** Writes out what is still waiting; called before the process ends. */
  readonly flush: () => void
}

/** Lines are gathered and written in blocks of 16 KiB, at the latest after a second: a line costs no system call. */
export function createLog(destination: { fd: number } = { fd: 1 }): Log {
  const isoNow = createIsoNow(systemClock)
  const stream = pino.destination({ dest: destination.fd, sync: false, minLength: 16_000 })
  const logger = pino({ base: null, timestamp: () => `,"time":"${isoNow()}"` }, stream)
  const audit = logger.child({ log: 'audit' })
  setInterval(() => stream.flush(), 1000).unref()
  return {
    info: message => logger.info(message),
    warn: message => logger.warn(message),
    fault: (message, cause) => logger.error({ err: cause }, message),
    refusal: message => logger.info(message),
    audit: ({ type, ...facts }) => audit.info(facts, type),
    flush: () => stream.flushSync(),
  }
}
