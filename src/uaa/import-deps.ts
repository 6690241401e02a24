import type { Clock } from '../base/clock.ts'
import type { Passwords } from '../base/passwords.ts'
import type { Random } from '../base/random.ts'
import type { Vault } from '../base/secrets.ts'
import type { ClientRules } from '../clients/client-rules.ts'
import type { Store } from '../store/store.ts'
import type { UaaDatabase } from '../store/uaa/uaa-database.ts'
import type { ImportReport } from './report.ts'

/** Dependencies of every part of an import. */
export interface ImportDeps {
  readonly source: UaaDatabase
  readonly store: Store
  readonly vault: Vault
  readonly passwords: Passwords
  readonly clock: Clock
  readonly random: Random
  /** The rules of clients, with the service, which is UAA's. */
  readonly rules: ClientRules
  /** The SAML entity id of the default zone. */
  readonly samlEntityId: string
  /** Whether the issuer would be another URL of this server than the zone's own. */
  readonly isForeignIssuer: (issuer: string, subdomain: string) => boolean
  readonly report: ImportReport
  readonly zones: TakenZones
}

/** The zones of the source by id, each with whether it was taken. */
type TakenZones = Map<string, boolean>

/** Why a row of a zone cannot be taken, if it cannot. */
export function zoneProblem(
  zoneId: string | null,
  zones: TakenZones,
): { readonly refused: string } | { readonly leftOut: string } | undefined {
  const isTaken = zoneId === null ? undefined : zones.get(zoneId)
  if (isTaken === true) return undefined
  if (isTaken === false) return { refused: `its zone ${zoneId} is refused` }
  return { leftOut: zoneId === null ? 'what it belongs to does not exist' : `its zone ${zoneId} does not exist` }
}

/** UAA also filters rows of a group or a user by the zone in the row itself, and so never sees a row of another zone. */
export const isUnseen = ({
  zoneId,
  rowZoneId,
}: {
  readonly zoneId: string | null
  readonly rowZoneId: string | null
}) => zoneId !== rowZoneId

/** Whether it can be the id of a user or a group, which is part of addresses. */
export const isResourceId = (id: string): boolean =>
  /^(?!\.+$)[\x21\x22\x24-\x2e\x30-\x3e\x40-\x5b\x5d-\x7e]{1,36}$/.test(id)
