// Refusals of SCIM (RFC 7644 §3.12 and RFC 9865 §2.1).

/** Keywords for errors of status 400, and for a name that is taken. */
export type ScimType =
  | 'invalidFilter'
  | 'tooMany'
  | 'uniqueness'
  | 'mutability'
  | 'invalidSyntax'
  | 'invalidPath'
  | 'noTarget'
  | 'invalidValue'
  | 'invalidVers'
  | 'sensitive'
  | 'invalidCursor'
  | 'invalidCount'

/** The schema of refusals. */
const ERROR_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:Error'

/** A refusal: the status that goes with the keyword, or a status alone. */
export class ScimError extends Error {
  override name = 'ScimError'
  readonly status: number
  readonly scimType: ScimType | undefined
  constructor(kind: ScimType | number, detail: string, options?: ErrorOptions) {
    super(detail, options)
    this.scimType = typeof kind === 'number' ? undefined : kind
    this.status = typeof kind === 'number' ? kind : kind === 'uniqueness' ? 409 : 400
  }
}

/** The body of a refusal; the status is a string. */
export const errorBody = (status: number, detail: string, scimType?: ScimType): Readonly<Record<string, unknown>> => ({
  schemas: [ERROR_SCHEMA],
  status: String(status),
  ...(scimType !== undefined && { scimType }),
  detail,
})
