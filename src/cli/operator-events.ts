// Events of what operators do on the command line, in the stored audit trail: the log belongs to the server.
import { userInfo } from 'node:os'
import type { Config } from '../config.ts'
import type { AuditEvent } from '../model/audit/event.ts'
import { createAuditRecorder } from '../ops/audit/recorder.ts'
import type { Storage } from './storage.ts'

/** Key operations and imports by an operator. */
export type OperatorEvent = Pick<AuditEvent, 'zoneId' | 'principal' | 'data'> & {
  readonly type:
    | 'SigningKeyCreatedEvent'
    | 'SigningKeyActivatedEvent'
    | 'SigningKeyRetiredEvent'
    | 'MasterKeyResealedEvent'
    | 'RecordsImportedEvent'
}

/** Stores what has been done; nothing where the trail is not stored. A failure is printed only, because it undoes nothing. */
export async function recordOperatorEvent(
  event: OperatorEvent,
  command: string,
  { store, vault, clock, config }: Pick<Storage, 'store' | 'vault' | 'clock'> & { readonly config: Config },
): Promise<void> {
  if (!config.audit) return
  const report = (message: string): void => void process.stderr.write(`latchkey: ${message}\n`)
  const recorder = createAuditRecorder({
    store,
    hashes: vault,
    clock,
    excluded: new Set(config.audit.excluded),
    log: { warn: report, fault: (message, cause) => report(`${message}: ${String(cause)}`) },
  })
  recorder.record({ ...event, userAgent: `${command} (${operator()})` })
  await recorder.stop()
}

/** The account of the system that runs the command. */
function operator(): string {
  try {
    return userInfo().username
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}` // without an entry in the system's list, as in a container
  }
}
