// `/invite_users`: invites users by their e-mail addresses and returns the links, which the caller delivers.
import type { FastifyRequest } from 'fastify'
import { invite } from '../../accounts/invitations.ts'
import type { Invited } from '../../accounts/invitations.ts'
import { memberOf } from '../../base/json.ts'
import type { JsonRecord } from '../../base/json.ts'
import type { Client } from '../../model/clients/client.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import type { On } from '../../web/deferred-routes.ts'
import { jsonBody, sendJson } from '../../web/requests/json.ts'
import { queryForm } from '../../web/requests/query.ts'
import { requestedZoneOf } from '../../web/zones/zone-switch.ts'
import { groupCallerOf } from '../resources/caller.ts'
import { reportCode } from './code-issued.ts'
import type { InvitationRoute } from './routes.ts'
import type { AdminDeps } from '../deps.ts'

/** Addresses in one request. */
export const MAX_ADDRESSES = 1000
const MAX_REDIRECT_LENGTH = 2048

const refuse = (description: string): OAuthError => new OAuthError('invalid_request', description)

/** `POST /invite_users`. `redirect_uri` is checked where it is followed. */
export function invitationHandlers(on: On<InvitationRoute>, deps: AdminDeps): void {
  const { urls, service } = deps

  on('POST /invite_users', async (request, reply) => {
    const { zone } = request
    const redirectUri = queryForm(request).get('redirect_uri') ?? ''
    if (redirectUri === '') throw refuse('The parameter redirect_uri is missing')
    if (redirectUri.length > MAX_REDIRECT_LENGTH) throw refuse('The parameter redirect_uri is too long')
    const { clientId, client } = await clientOf(request)
    const requestedReturn = { redirectUri, ...(clientId !== undefined && { clientId }) }
    const by = groupCallerOf(request, service)
    const results: { readonly email: string; readonly result: Invited }[] = []
    // Sequential, because two spellings of an address may belong to one account.
    for (const email of addressesIn(jsonBody(request))) {
      const result = await invite(zone, { email, requestedReturn, client, by }, deps)
      if (result.outcome === 'invited') reportCode(request, { user: result.user, use: 'invitation' }, deps)
      results.push({ email, result })
    }
    const linkOf = (code: string): string => `${urls.ofZone(zone)}/invitations/accept?code=${code}`
    return sendJson(reply, {
      new_invites: results.flatMap(({ result }) =>
        result.outcome === 'invited' ? [item({ user: result.user, link: linkOf(result.code) })] : [],
      ),
      failed_invites: results.flatMap(({ email, result }) =>
        result.outcome === 'failed'
          ? [{ ...item({}), email, errorCode: result.code, errorMessage: result.message }]
          : [],
      ),
    })
  })

  /** The client of the parameter, else the caller's. The caller's client is unknown in a zone named by a header. */
  async function clientOf(
    request: FastifyRequest,
  ): Promise<{ readonly clientId?: string; readonly client?: Client | undefined }> {
    const named = queryForm(request).get('client_id') || undefined
    if (requestedZoneOf(request)) return named === undefined ? {} : { clientId: named }
    const clientId = named ?? request.bearer?.client.clientId
    if (clientId === undefined) return {}
    const client = await deps.store.clients.find(request.zone.id, clientId)
    if (!client) throw refuse('There is no client with this client_id')
    return { clientId, client }
  }
}

/** Each once, ignoring case. */
function addressesIn(body: JsonRecord): readonly string[] {
  const emails: unknown = memberOf(body, 'emails')
  if (!Array.isArray(emails) || !emails.every(email => typeof email === 'string')) {
    throw refuse('emails must be a list of strings')
  }
  if (emails.length > MAX_ADDRESSES) throw refuse(`At most ${MAX_ADDRESSES} addresses can be invited at once`)
  const unique = new Map<string, string>()
  for (const email of emails) if (!unique.has(email.toLowerCase())) unique.set(email.toLowerCase(), email)
  return [...unique.values()]
}

const item = ({ user, link }: { user?: Extract<Invited, { outcome: 'invited' }>['user']; link?: string }) => ({
  email: user?.email ?? null,
  userId: user?.id ?? null,
  origin: user?.origin ?? null,
  success: user !== undefined,
  errorCode: null,
  errorMessage: null,
  inviteLink: link ?? null,
})
