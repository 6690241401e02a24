// Events of operator commands, in the stored audit trail: the log belongs to the server.
import { userInfo } from 'node:os'
import type { Config } from '../config.ts'
import type { AuditEvent } from '../model/audit/event.ts'
import { createAuditRecorder } from '../ops/audit/recorder.ts'
import type { Storage } from './database/storage.ts'

/** Key operations and imports by an operator. */
export type OperatorEvent = Pick<AuditEvent, 'zoneId' | 'principal' | 'data'> & {
  readonly type:
    | 'SigningKeyCreatedEvent'
    | 'SigningKeyActivatedEvent'
    | 'SigningKeyRetiredEvent'
    | 'MasterKeyResealedEvent'
    | 'RecordsImportedEvent'
}

/** Stores the event, if the trail is stored. A failure is only printed, because the action is already done. */
export async function recordOperatorEvent(
  event: OperatorEvent,
  command: string,
  {
    store,
    vault,
    clock,
    config,
  }: Pick<Storage, 'store' | 'vault' | 'clock'> & {
    readonly config: Pick<Config, 'audit'>
  },
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
