import { isJsonRecord } from '../base/json.ts'
import type { JsonRecord } from '../base/json.ts'
import type { Section, Setting } from '../records/settings.ts'

/** Members of UAA that are read elsewhere, or that had no effect in it. */
const WITHOUT_LOSS: ReadonlySet<string> = new Set([
  'idpEntityAlias',
  'mfaConfig',
  'samlConfig.assertionSigned',
  'samlConfig.assertionTimeToLiveSeconds',
  'samlConfig.certificate',
  'samlConfig.keys',
  'samlConfig.privateKey',
  'samlConfig.privateKeyPassword',
  'samlConfig.wantAuthnRequestSigned',
  'tokenPolicy.keys',
  'zoneId',
])

/** Names of stored settings that have no counterpart here, with dots; null is no setting. */
export const unknownSettings = (described: Section, stored: JsonRecord, path = ''): readonly string[] =>
  Object.entries(stored).flatMap(([name, value]) => {
    const key = path + name
    if (value === null || WITHOUT_LOSS.has(key)) return []
    const member: Setting | Section | undefined = Object.hasOwn(described.members, name)
      ? described.members[name]
      : undefined
    if (member === undefined) return [key]
    return 'members' in member && isJsonRecord(value) ? unknownSettings(member, value, `${key}.`) : []
  })
