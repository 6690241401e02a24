import type { AuditSettings } from '../../model/audit/audit-settings.ts'
import type { AuditTrail, AuditTrailDeps } from './trail.ts'
import type { RequestLog } from '../request-log.ts'

/** Opens the stored trail; loaded only where it is configured, because most of the start is loading. */
export async function openTrail(
  { vault, ...deps }: Pick<AuditTrailDeps, 'store' | 'clock' | 'outbound' | 'audit'> & OpeningDeps,
  settings: AuditSettings,
): Promise<AuditTrail> {
  const { createAuditTrail } = await import('./trail.ts')
  const { requests } = deps.log
  const requestId = requests && (() => requests.current()?.request_id)
  return createAuditTrail({ ...deps, hashes: vault, settings, requestId })
}

interface OpeningDeps {
  readonly vault: AuditTrailDeps['hashes']
  readonly log: AuditTrailDeps['log'] & { readonly requests: RequestLog | undefined }
}
