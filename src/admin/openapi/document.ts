// Builds the OpenAPI document from the route table (paths, access, shared responses) and the areas (everything else).
// Leaves out HEAD, and routes that only refuse.
import type { Urls } from '../../model/urls.ts'
import type { RegisteredRoute } from '../../web/route.ts'
import { takesForm } from '../../web/route.ts'
import { sessionCookieName } from '../../web/sessions/session-cookies.ts'
import { accountsArea } from './admin/accounts.ts'
import { answersOf, ERROR, responseObject, sharedName } from './answers.ts'
import type { NamedAnswer } from './answers.ts'
import { approvalsArea } from './admin/approvals.ts'
import { auditArea } from './admin/audit.ts'
import { explainArea } from './oauth/explain.ts'
import { clientsArea } from './admin/clients.ts'
import { emailArea } from './admin/email.ts'
import { passwordsArea } from './admin/passwords.ts'
import { groupsArea } from './admin/groups.ts'
import type { Area, Facts, Field, Fields, Operation, Schema } from './description.ts'
import { KEPT, WITHOUT_NUL, may, open, repeatable, sent, text } from './description.ts'
import { loginArea } from './login/login.ts'
import { oauthArea } from './oauth/oauth.ts'
import { providersArea } from './admin/providers.ts'
import { deviceArea } from './oauth/device.ts'
import { registrationArea } from './oauth/registration.ts'
import { scimArea } from './admin/scim.ts'
import { secondFactorsArea } from './admin/second-factors.ts'
import { selfServiceArea } from './login/self-service.ts'
import { serverArea } from './server.ts'
import { tokensArea } from './oauth/tokens.ts'
import { usersArea } from './admin/users.ts'
import { zonesArea } from './admin/zones.ts'

/** The inputs of the document. */
export interface DocumentDeps extends Facts {
  /** The complete route table. */
  readonly routes: readonly RegisteredRoute[]
  readonly urls: Urls
  readonly version: string
  /** Whether a rate limit is configured. */
  readonly isRateLimited: boolean
}

/** The document, and its differences from the route table, which must be empty. */
interface Described {
  readonly document: Schema
  /** The operations by area, for the `/docs` page. */
  readonly areas: readonly DescribedArea[]
  /** `METHOD /path` of routes without a description. */
  readonly undescribed: readonly string[]
  /** `METHOD /path` of descriptions without a route, which every server should have. */
  readonly unrouted: readonly string[]
}

/** An area with its operations, in the order of the description. */
export interface DescribedArea {
  readonly name: string
  readonly about: string
  readonly operations: readonly DescribedOperation[]
}

/** An operation of the document. */
export interface DescribedOperation {
  readonly method: string
  /** With OpenAPI path templates. */
  readonly path: string
  readonly route: RegisteredRoute
  readonly operation: Operation
  readonly answers: Readonly<Record<string, NamedAnswer>>
}

/** Every area, in the order of the document. */
const areasOf = (facts: Facts): readonly Area[] => [
  oauthArea(facts),
  tokensArea(facts),
  loginArea(facts),
  selfServiceArea(facts),
  accountsArea(),
  approvalsArea(),
  usersArea(),
  secondFactorsArea(facts),
  emailArea(facts),
  passwordsArea(),
  clientsArea(facts),
  deviceArea(facts),
  registrationArea(),
  groupsArea(),
  zonesArea(facts),
  providersArea(facts),
  scimArea(),
  auditArea(),
  explainArea(),
  serverArea(facts),
]

/** Merges descriptions and route table. A route without a description is included with the facts of the table. */
export function describeRoutes(deps: DocumentDeps): Described {
  const { routes, urls } = deps
  const areas = areasOf(deps)
  const descriptions = new Map(areas.flatMap(({ operations }) => Object.entries(operations)))
  const byKey = new Map<string, DescribedOperation[]>()
  for (const route of routes) {
    if (route.method === 'HEAD' || route.refuses) continue
    const endpoint = `${route.method} ${placeOf(route.url, urls)}`
    const folder = endpoint.replace(/[^/]+$/, '*')
    const key = descriptions.has(endpoint) || !descriptions.has(folder) ? endpoint : folder
    const operation = descriptions.get(key) ?? { summary: endpoint, answers: {} }
    const path = templateOf(route.url, urls, operation)
    const described = { method: route.method, path, route, operation, answers: answersOf(route, operation, deps) }
    byKey.set(key, [...(byKey.get(key) ?? []), described])
  }
  const undescribed = [...byKey.keys()].filter(key => !descriptions.has(key))
  const documented = areas.map(({ name, about, operations }) => ({
    name,
    about,
    operations: Object.keys(operations).flatMap(key => byKey.get(key) ?? []),
  }))
  const others = undescribed.flatMap(key => byKey.get(key) ?? [])
  if (others.length > 0) documented.push({ name: 'Other', about: 'Not described.', operations: others })
  return {
    document: documentObject(documented, areas, deps),
    areas: documented,
    undescribed,
    unrouted: [...descriptions]
      .filter(([key, { inPlayground }]) => !inPlayground && !byKey.has(key))
      .map(([key]) => key),
  }
}

function documentObject(documented: readonly DescribedArea[], areas: readonly Area[], deps: DocumentDeps): Schema {
  const { urls } = deps
  const paths: Record<string, Record<string, unknown>> = {}
  const responses: Record<string, Schema> = {}
  for (const { name, operations } of documented) {
    for (const described of operations) {
      const { route, path, method, answers } = described
      const item = (paths[path] ??= isOutside(route.url, urls) ? { servers: [{ url: originOf(urls) }] } : {})
      item[method.toLowerCase()] = operationObject(described, name, deps)
      for (const [status, answer] of Object.entries(answers)) {
        if (answer.shared === undefined) continue
        responses[sharedName(answer.shared, route)] ??= responseObject(answer, status, route)
      }
    }
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'Latchkey',
      version: deps.version,
      description:
        'An identity and authorization server: OAuth 2.0, OpenID Connect and the management of clients, identity zones and identity providers. HEAD is served wherever GET is, unless GET changes state. Of several kinds of authentication that an operation lists, one is enough.',
    },
    servers: serversOf(urls),
    tags: documented.map(({ name, about }) => ({ name, description: about })),
    paths,
    components: {
      schemas: Object.fromEntries([
        ['Error', ERROR] as const,
        ['Kept', KEPT] as const,
        ...areas.flatMap(({ schemas = {} }) => Object.entries(schemas)),
      ]),
      responses,
      securitySchemes: securitySchemes(deps),
    },
  }
}

const originOf = ({ base, basePath }: Urls): string => base.slice(0, base.length - basePath.length)

/** With a base path, discovery also has URLs outside of it (RFC 8414 §3.1). */
const isOutside = (url: string, { basePath }: Urls): boolean => !`${url}/`.startsWith(`${basePath}/`)

/** The path without the base path. */
const placeOf = (url: string, urls: Urls): string =>
  isOutside(url, urls) ? url.replace(urls.basePath, '') : url.slice(urls.basePath.length) || '/'

function templateOf(url: string, urls: Urls, { wildcard = 'rest' }: Operation): string {
  const path = isOutside(url, urls) ? url : url.slice(urls.basePath.length) || '/'
  return path.replace(/:(\w+)/g, '{$1}').replace(/\*$/, `{${wildcard}}`)
}

function operationObject(described: DescribedOperation, area: string, { behaviour }: Facts): Schema {
  const { method, path, route, operation, answers } = described
  const { summary, about, form, json, bare } = operation
  const { access, body } = route
  const isForm = body === 'form or json' || takesForm({ ...(body && { body }) })
  const acrossZones = access.by === 'bearer' && access.acrossZones === true
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']): [string, Field] => {
    const field = operation.path?.[name] ?? { about: 'Path segment.', schema: text, required: true }
    return [name, behaviour.plainSemicolons ? field : { ...field, schema: { pattern: NO_SEMICOLON, ...field.schema } }]
  })
  const parameters = [
    ...parametersOf(Object.fromEntries(inPath), 'path'),
    ...parametersOf(operation.query, 'query'),
    ...parametersOf({ ...operation.headers, ...(acrossZones && ZONE_HEADERS) }, 'header'),
  ]
  const content = json
    ? {
        [body === 'scim' ? 'application/scim+json' : 'application/json']: {
          schema: sent(json.schema),
          example: json.example,
        },
      }
    : bare
      ? {
          'text/plain': {
            schema: { type: 'string', pattern: '\\S', description: bare.about },
            example: bare.example,
          },
        }
      : form && Object.keys(form).length > 0 && isForm
        ? { 'application/x-www-form-urlencoded': { schema: formSchema(form, operation) } }
        : undefined
  const isBodyNeeded =
    json !== undefined || bare !== undefined || Object.values(form ?? {}).some(({ required }) => required)
  return {
    operationId: operationIdOf(method, path),
    tags: [area],
    summary,
    ...(about !== undefined && { description: about }),
    security: securityOf(route, operation),
    ...(parameters.length > 0 && { parameters }),
    ...(content && { requestBody: { required: isBodyNeeded, content } }),
    responses: Object.fromEntries(
      Object.entries(answers).map(([status, answer]) => [
        status,
        answer.shared === undefined
          ? responseObject(answer, status, route)
          : { $ref: `#/components/responses/${sharedName(answer.shared, route)}` },
      ]),
    ),
  }
}

/** UAA refuses a semicolon in a path (row P4); no id has NUL. */
const NO_SEMICOLON = '^[^\\u0000;]*$'

/** The headers with which an administrator selects another zone. */
export const ZONE_HEADERS: Fields = {
  'X-Identity-Zone-Id': may('Id of the zone to act in, for administrators of the default zone.'),
  'X-Identity-Zone-Subdomain': may('Subdomain of the zone to act in, instead of its id.'),
}

const parametersOf = (fields: Fields | undefined, where: string): readonly Schema[] =>
  Object.entries(fields ?? {}).map(([name, { about, schema, required, mayBeEmpty }]) => ({
    name,
    in: where,
    description: about,
    required,
    ...(mayBeEmpty && { allowEmptyValue: true }),
    schema: where === 'header' ? schema : sent(schema),
  }))

const formSchema = (form: Fields, { refusesRepeated }: Operation): Schema => ({
  ...open(
    Object.fromEntries(
      Object.entries(form).map(([name, { about, schema }]) => [name, { ...sent(schema), description: about }]),
    ),
    Object.keys(form).filter(name => form[name]?.required),
  ),
  ...(refusesRepeated === 'all but targets' && { patternProperties: { '^(?:resource|audience)$': sent(repeatable) } }),
  additionalProperties: sent(refusesRepeated === undefined ? repeatable : text),
  propertyNames: { pattern: WITHOUT_NUL },
})

const operationIdOf = (method: string, path: string): string =>
  method.toLowerCase() +
  path
    .split(/[^A-Za-z0-9]+/)
    .map(word => word.charAt(0).toUpperCase() + word.slice(1))
    .join('')

/** The alternative security requirements; an empty one stands for credentials in the body, or none. */
function securityOf({ access }: RegisteredRoute, { credentials = [] }: Operation): readonly Schema[] {
  switch (access.by) {
    case 'anyone':
      return []
    case 'session':
      return [{ session: [] }]
    case 'client': {
      const isElsewhere = credentials.includes('form') || credentials.includes('none')
      return [
        { clientSecretBasic: [] },
        ...(credentials.includes('bearer') ? [{ bearer: [] }] : []),
        ...(isElsewhere ? [{}] : []),
      ]
    }
    case 'bearer': {
      const { scopes = [], ofDefaultZone = [] } = access
      const rights = [
        ...scopes.map(scope => ({ bearer: [scope] })),
        ...ofDefaultZone.map(scope => ({ bearerOfDefaultZone: [scope] })),
      ]
      return rights.length > 0 ? rights : [{ bearer: [] }]
    }
  }
}

const securitySchemes = ({ urls, service, behaviour }: DocumentDeps): Schema => ({
  bearer: {
    type: 'http',
    scheme: 'bearer',
    description:
      'An access token of the zone, with the named scope or authority if there is one. One that is bound to a key is sent by `Authorization: DPoP`, with a proof in the header `DPoP` (RFC 9449 §7.1); one that is bound to a certificate works in connections with that certificate only (RFC 8705 §3).',
  },
  bearerOfDefaultZone: {
    type: 'http',
    scheme: 'bearer',
    description: 'An access token of the default zone; `{zone}` stands for the id of the zone of the request.',
  },
  clientSecretBasic: {
    type: 'http',
    scheme: 'basic',
    description: 'Id and secret of a client, each form-encoded (RFC 6749 §2.3.1).',
  },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: sessionCookieName({ subdomain: '', address: 'host' }, { urls, service, behaviour }),
    description:
      'The session of a signed-in user. In a zone addressed by path, the cookie name ends with a dot and the subdomain.',
  },
})

function serversOf({ base, hostname }: Urls): readonly Schema[] {
  const variables = { subdomain: { default: 'zone', description: 'The subdomain of the zone.' } }
  return [
    { url: base, description: 'The default zone.' },
    { url: base.replace(`//${hostname}`, `//{subdomain}.${hostname}`), description: 'Another zone.', variables },
    { url: `${base}/z/{subdomain}`, description: 'Another zone, by path.', variables },
  ]
}
