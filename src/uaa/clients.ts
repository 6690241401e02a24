// The clients of a UAA with their hashed secrets. They are read by the same rules as those that the API is sent.
import type { JsonRecord } from '../base/json.ts'
import { isStorable } from '../base/text/storable-text.ts'
import { clientFromJson } from '../clients/client-json.ts'
import type { ClientDefinition } from '../clients/client-json.ts'
import { isIcon, isLaunchUrl } from '../model/clients/client-metadata.ts'
import type { ClientDescription } from '../model/clients/client-metadata.ts'
import type { Client, ClientSecret } from '../model/clients/client.ts'
import { passwordHashProblem } from '../model/users/password-hash.ts'
import type { UaaRow } from '../store/uaa/tables.ts'
import { SERVER_LIFETIME } from '../records/kinds.ts'
import { AlreadyExists } from '../store/store.ts'
import { zoneProblem } from './import-deps.ts'
import type { ImportDeps } from './import-deps.ts'
import { storedJson, storedList, storedTime } from './stored-json.ts'

type ClientRow = UaaRow<'clients'>

/** Writes every client. */
export async function importClients(deps: ImportDeps): Promise<void> {
  const { source, report } = deps
  for await (const row of source.rows('clients')) {
    const name = `${row.clientId ?? ''} (zone ${row.zoneId ?? ''})`
    const problem = zoneProblem(row.zoneId, deps.zones)
    if (problem && 'refused' in problem) report.refused('client', name, problem.refused)
    else if (problem) report.leftOut('client', name, problem.leftOut)
    else await importClient(row, { ...deps, name })
  }
}

type ClientDeps = ImportDeps & { readonly name: string }

async function importClient(row: ClientRow, deps: ClientDeps): Promise<void> {
  const { store, clock, report, name } = deps
  const zoneId = row.zoneId ?? ''
  const read = readDefinition(row, deps)
  if ('problem' in read) return report.refused('client', name, read.problem)
  const { definition } = read
  if ((await store.clients.findForChange(zoneId, definition.clientId)) !== undefined) return report.same('client')
  const secrets = await readSecrets(row.secret, deps)
  if (typeof secrets === 'string') return report.refused('client', name, secrets)
  const updatedAt = storedTime(row.updated) ?? clock.now()
  // No `incarnation`: it would be part of `rev_sig`, which UAA makes without one.
  const client: Client = { ...definition, zoneId, secrets, createdAt: updatedAt, updatedAt }
  const createdBy = row.createdBy?.trim() || undefined
  try {
    await store.clients.apply(zoneId, [{ kind: 'insert', client, createdBy }])
  } catch (error) {
    if (!(error instanceof AlreadyExists)) throw error
    return report.refused('client', name, 'the zone has another client with this id')
  }
  await describe(row, client, deps)
  report.imported('client')
}

function readDefinition(
  row: ClientRow,
  { rules, report, name }: ClientDeps,
): { readonly definition: ClientDefinition } | { readonly problem: string } {
  const additional = storedJson(row.additional)
  const jwt = storedJson(row.jwtConfig)
  if (!additional) return { problem: 'additional_information is not a JSON object that can be stored' }
  if (!jwt) return { problem: 'client_jwt_config is not a JSON object that can be stored' }
  const scope = storedList(row.scope)
  const grantTypes = storedList(row.grantTypes)
  const autoapprove = approvedOf(row, additional)
  const { definition, problems } = clientFromJson(
    {
      ...withoutColumns(additional),
      ...keysOf(jwt),
      client_id: row.clientId,
      scope,
      authorities: storedList(row.authorities),
      authorized_grant_types: grantTypes,
      redirect_uri: storedList(row.redirectUris),
      autoapprove,
      required_user_groups: storedList(row.requiredUserGroups),
      access_token_validity: validityOf(row.accessTokenSeconds),
      refresh_token_validity: validityOf(row.refreshTokenSeconds),
      // Stands for the credential, so that the rules do not miss one: a client without a secret stays without.
      client_secret: 'kept as a hash',
    },
    { ...rules, lenientConfiguration: false },
  )
  if (problems.length > 0) return { problem: problems.map(({ message }) => message).join('; ') }
  const lost = autoapprove === true ? [] : autoapprove.filter(each => !definition.scope.includes(each))
  if (lost.length > 0)
    report.note(`client ${name}: autoapprove without ${lost.join(', ')}, which are not among its scopes`)
  const { createdwith: createdWith } = additional
  return {
    definition: {
      ...definition,
      authorizedGrantTypes: grantTypes, // nothing is added to what the client may do
      ...(typeof createdWith === 'string' && { createdWith }),
    },
  }
}

/** Members of `additional_information` that also have a column, or that UAA left behind there. */
const COLUMNS = new Set([
  'client_id',
  'client_secret',
  'secondary_client_secret',
  'scope',
  'authorities',
  'authorized_grant_types',
  'redirect_uri',
  'autoapprove',
  'required_user_groups',
  'access_token_validity',
  'refresh_token_validity',
  'jwks',
  'jwks_uri',
  'jwt_creds',
])

const withoutColumns = (additional: JsonRecord): JsonRecord =>
  Object.fromEntries(Object.entries(additional).filter(([name]) => !COLUMNS.has(name)))

const keysOf = ({ jwks, jwks_uri: jwksUri, jwt_creds: jwtCreds }: JsonRecord): JsonRecord => ({
  ...(jwks !== undefined && jwks !== null && { jwks }),
  ...(jwksUri !== undefined && jwksUri !== null && { jwks_uri: jwksUri }),
  ...(jwtCreds !== undefined && jwtCreds !== null && { jwt_creds: jwtCreds }),
})

/** With 0 a token of UAA expires immediately; here the minimum is one second. Below -1, all of them have expired. */
const validityOf = (seconds: number | null): number | null =>
  seconds === null || seconds === SERVER_LIFETIME ? seconds : Math.max(seconds, 1)

/** Configured clients may have it among the additional information only; both count. */
function approvedOf(row: ClientRow, { autoapprove: also }: JsonRecord): true | readonly string[] {
  const own = storedList(row.autoapprove)
  const further = Array.isArray(also) ? also.filter(each => typeof each === 'string') : []
  const isAll = also === true || also === 'true' || own.includes('true') || further.includes('true')
  return isAll || [...new Set([...own, ...further])]
}

/** Older first; a string is the problem. UAA computes `rev_sig` from the stored text. */
async function readSecrets(
  stored: string | null,
  { passwords }: ImportDeps,
): Promise<readonly ClientSecret[] | string> {
  // A migration put the prefix also before the secret of clients that had none.
  const texts = (stored ?? '').split(' ').filter(text => text !== '' && text !== '{bcrypt}')
  if (texts.length > 2) return 'it has more than two secrets'
  const secrets: ClientSecret[] = []
  for (const text of texts) {
    const hash = text.replace(/^\{bcrypt\}/, '')
    const problem = passwordHashProblem(hash)
    if (problem !== undefined) return `the hash of its secret ${problem}`
    const isBlank = await passwords.verify(hash, '')
    secrets.push({ hash, revision: text, ...(isBlank && { empty: true }) })
  }
  return secrets
}

/** The client's tile on the home page. */
async function describe(
  row: ClientRow,
  { zoneId, clientId }: Client,
  { store, report, name }: ClientDeps,
): Promise<void> {
  const icon = (row.appIcon ?? '').replaceAll('\n', '')
  const url = row.appLaunchUrl ?? ''
  const isUsable = (url === '' || (isStorable(url) && isLaunchUrl(url))) && isIcon(icon)
  if (!isUsable) report.note(`client ${name}: without its tile on the home page, whose address or icon is not usable`)
  if (!isUsable || (url === '' && icon === '')) return
  const stored = await store.clients.findForChange(zoneId, clientId)
  if (!stored) return
  const description: ClientDescription = {
    showOnHomePage: row.showOnHomePage ?? true,
    ...(url !== '' && { appLaunchUrl: url }),
    appIcon: icon,
  }
  await store.clients.apply(zoneId, [{ kind: 'describe', clientId, description, revision: stored.revision }])
}
