// The key `audit`: the stored audit trail. The log has the audit trail in any case.
import { isLoopbackHost } from '../../base/loopback.ts'
import type { AuditSettings, AuditWebhook } from '../../model/audit/audit-settings.ts'
import { AUDIT_EVENT_TYPES } from '../../model/audit/event.ts'
import type { AuditEventType } from '../../model/audit/event.ts'
import { nearest } from '../nearest.ts'
import type { Problems } from '../problems.ts'
import { section } from './section.ts'

/** `audit` in the configuration file. */
export interface AuditFile {
  readonly enabled?: boolean
  readonly days?: number
  readonly exclude?: readonly string[]
  readonly webhooks?: readonly {
    readonly name: string
    readonly url: string
    readonly secret: string
    readonly zones?: readonly string[]
  }[]
}

const DEFAULT_DAYS = 90

/** JSON Schema of the key. */
export const auditSchema = section('The stored audit trail.', {
  enabled: {
    type: 'boolean',
    default: false,
    description: 'Whether the audit trail is stored in the database, and not only written to the log.',
  },
  days: {
    type: 'integer',
    minimum: 1,
    maximum: 3650,
    default: DEFAULT_DAYS,
    description: 'How long entries are kept.',
  },
  exclude: {
    type: 'array',
    items: { type: 'string', pattern: '^[A-Z][A-Za-z]{1,63}$' },
    default: [],
    description: 'Types of events that are not stored, for example TokenIssuedEvent and ClientAuthenticationSuccess.',
  },
  webhooks: {
    type: 'array',
    maxItems: 10,
    description: 'Webhooks that receive every entry.',
    items: {
      type: 'object',
      additionalProperties: false,
      required: ['name', 'url'],
      properties: {
        name: {
          type: 'string',
          pattern: '^[a-z0-9][a-z0-9-]{0,31}$',
          patternErrorMessage: 'must have at most 32 lower-case letters, digits and hyphens',
          description: 'Unique; the position of the webhook is stored under it.',
        },
        url: { type: 'string', description: 'An https URL.' },
        secret: {
          type: 'string',
          description: 'Signs the requests: whsec_ and 24 to 64 bytes in base64 (standardwebhooks.com).',
        },
        secret_file: {
          type: 'string',
          description: 'A file, relative to this one, that contains the secret; a final line break is dropped.',
        },
        zones: { type: 'array', items: { type: 'string' }, description: 'Ids of zones. Absent: all zones.' },
      },
    },
  },
})

/** The settings; undefined where the trail is not stored. */
export function auditOf(file: AuditFile | undefined, problems: Problems): AuditSettings | undefined {
  if (file === undefined || !problems.hasValidTypes('audit')) return undefined
  const names = new Set<string>()
  const webhooks = (file.webhooks ?? []).map(({ name, url, secret, zones }, index): AuditWebhook => {
    const key = `audit.webhooks[${index}]`
    if (names.has(name)) problems.add(`${key}.name`, 'is already used by another webhook')
    names.add(name)
    const parsed = URL.parse(url)
    const isHttps = parsed?.protocol === 'https:' || (parsed?.protocol === 'http:' && isLoopbackHost(parsed.hostname))
    if (!parsed || !isHttps || parsed.username !== '' || parsed.password !== '') {
      problems.add(`${key}.url`, 'must be an https URL without credentials')
    }
    const bytes = keyOf(secret)
    if (!bytes)
      problems.add(`${key}.secret`, 'must be whsec_ and 24 to 64 bytes in base64, as of openssl rand -base64 32')
    return { name, url, key: bytes ?? Buffer.alloc(0), ...(zones && { zones }) }
  })
  if (file.enabled !== true) return undefined
  // Not validated: a type of a later version must not prevent the start of this one.
  const excluded = (file.exclude ?? []) as readonly AuditEventType[]
  return { days: file.days ?? DEFAULT_DAYS, excluded, webhooks }
}

/** Warnings about settings without effect. */
export function auditWarnings(file: AuditFile | undefined): readonly string[] {
  if (file === undefined) return []
  const idle = Object.keys(file).filter(name => name !== 'enabled')
  if (file.enabled !== true && idle.length > 0) {
    return [`audit: ${idle.join(', ')} without effect, because audit.enabled is not true`]
  }
  const known: readonly string[] = AUDIT_EVENT_TYPES
  return (file.exclude ?? [])
    .filter(type => !known.includes(type))
    .map(type => {
      const meant = nearest(type, known)
      return `audit.exclude: ${type} is not an event of this version${meant === undefined ? '' : `; did you mean ${meant}?`}`
    })
}

function keyOf(secret: string | undefined): Buffer | undefined {
  const [, text] = /^whsec_((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)$/.exec(secret ?? '') ?? []
  const bytes = Buffer.from(text ?? '', 'base64')
  return bytes.length >= 24 && bytes.length <= 64 ? bytes : undefined
}
