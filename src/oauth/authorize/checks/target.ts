// The checks of where the response goes: the client and its redirect URI. What is wrong with them is a page, because there is
// nowhere to redirect to yet.
import { memberOf, parseJson } from '../../../base/json.ts'
import { resolveRedirectUri } from '../../../clients/redirect-uri.ts'
import { demandsOn } from '../../../model/clients/client-demands.ts'
import { mayUseGrant } from '../../../model/clients/client.ts'
import type { Client } from '../../../model/clients/client.ts'
import { documentUrlProblem, isAddress } from '../../../model/clients/document-address.ts'
import type { Behaviour } from '../../../model/compatibility.ts'
import { supportsProtocol } from '../../../model/zones/protocols.ts'
import type { Zone } from '../../../model/zones/zone.ts'
import type { Params } from '../../params.ts'
import { found } from '../context.ts'
import type { AuthorizeContext } from '../context.ts'
import { pageError } from '../refusal.ts'
import {
  defaultMode,
  mayUseMode,
  parseResponseMode,
  parseResponseType,
  withoutIdToken,
} from '../response/response-type.ts'
import type { ResponseDelivery, ResponseType } from '../response/response-type.ts'
import type { OAuthDeps } from '../../deps.ts'

const NOT_REPEATABLE_BEFORE_REDIRECT = ['client_id', 'redirect_uri']

/** RFC 6749 §3.1: on a page, because these two say where to redirect to. */
export function refuseRepeatedTarget({ params }: AuthorizeContext): void {
  const name = NOT_REPEATABLE_BEFORE_REDIRECT.find(each => params.repeated.includes(each))
  if (name !== undefined) throw pageError(400, 'invalid_request', `The parameter ${name} must not be repeated`)
}

/** Finds the client by `client_id`. */
export async function findClient(context: AuthorizeContext, { store, behaviour }: OAuthDeps): Promise<void> {
  const clientId = context.params.get('client_id')
  const client = clientId === undefined ? undefined : await store.clients.find(context.request.zone.id, clientId)
  if (!client) {
    const description =
      clientId === undefined ? 'Missing client_id' : unknownClient(clientId, context.request.zone, behaviour)
    throw pageError(behaviour.redirectErrors ? 400 : 401, 'invalid_client', description)
  }
  context.asked = { ...context.asked, client }
}

/** Tells the author of a metadata document, who cannot read our log, that the document is invalid, without details. */
function unknownClient(clientId: string, zone: Zone, behaviour: Behaviour): string {
  const description = `No client with requested id: ${clientId.slice(0, 255)}`
  if (!isAddress(clientId) || !supportsProtocol(zone, 'clientMetadataDocuments', behaviour)) return description
  const problem = documentUrlProblem(clientId)
  return `${description} (${problem === undefined ? 'its metadata document is invalid' : `the address ${problem}`})`
}

const NOT_REDIRECTING = 'A redirect_uri can only be used by implicit or authorization_code grant types.'

/** UAA: the client's grants are checked with its redirect URI, and shown on a page. See docs/compatibility.md, A4. */
export function requireRedirectGrant({ asked }: AuthorizeContext): void {
  const client = found(asked.client)
  if (client.authorizedGrantTypes.length === 0) {
    throw pageError(400, 'invalid_grant', 'A client must have at least one authorized grant type.')
  }
  if (!mayUseGrant(client, 'authorization_code') && !mayUseGrant(client, 'implicit')) {
    throw pageError(400, 'invalid_grant', NOT_REDIRECTING)
  }
}

/** Verifies `redirect_uri`; from here on a refusal can be a redirect. */
export function verifyRedirectUri(context: AuthorizeContext, { behaviour, settings }: OAuthDeps): void {
  const { params, asked } = context
  const client = found(asked.client)
  const named = params.get('redirect_uri')
  const rules = { exactRedirectUri: behaviour.exactRedirectUri, strictRedirects: settings.strictRedirects }
  const redirectUri = resolveRedirectUri(client, named, rules)
  if (redirectUri === undefined) {
    const shown = named === undefined ? 'URI (none was named)' : named.slice(0, 500)
    throw pageError(
      400,
      behaviour.redirectErrors ? 'invalid_request' : 'invalid_grant',
      `Invalid redirect ${shown} did not match one of the registered values`,
    )
  }
  const state = params.get('state')
  const parsed = parseResponseType(params.get('response_type') ?? '')
  const type = parsed && settings.idTokenDisabled ? withoutIdToken(parsed) : parsed
  const target = {
    clientId: client.clientId,
    redirectUri,
    type,
    ...deliveryOf(params, { type, zone: context.request.zone, client }, behaviour),
    ...(state !== undefined && { state }),
  }
  context.asked = { ...asked, target, ...(named !== undefined && { namedRedirectUri: named }) }
}

interface DeliveryRequest {
  readonly type: ResponseType | undefined
  readonly zone: Zone
}

/**
 * The requested mode, if it is allowed; the refusal of another one is sent in the default mode (row A6). To a client whose profile
 * requires signed responses, it is signed as well.
 */
function deliveryOf(
  params: Params,
  { client, ...deliveryRequest }: DeliveryRequest & { readonly client: Client },
  behaviour: Behaviour,
): ResponseDelivery {
  const { type, zone } = deliveryRequest
  const asked = params.get('response_mode') ?? modeInRequestObject(params)
  const suitable = suitableDelivery(asked ?? '', deliveryRequest, behaviour)
  const { mode, isSigned } = suitable ?? { mode: defaultMode(type), isSigned: false }
  const mustSign = demandsOn(zone, client).signedResponses && supportsProtocol(zone, 'signedResponses', behaviour)
  return { mode, isSigned: isSigned || mustSign }
}

/** The mode, where the zone supports it and the response type allows it (row A6, JARM §2.3.1). */
export function suitableDelivery(
  text: string,
  { type, zone }: DeliveryRequest,
  behaviour: Behaviour,
): ResponseDelivery | undefined {
  const delivery = parseResponseMode(text, type)
  if (!delivery) return undefined
  const isKnown = delivery.isSigned ? supportsProtocol(zone, 'signedResponses', behaviour) : behaviour.responseModes
  return isKnown && (type === undefined || mayUseMode(type, delivery.mode)) ? delivery : undefined
}

const MAX_UNVERIFIED_LENGTH = 8192

/** How a client with a request object receives its refusal. The object is not verified, and nothing else in it is read. */
function modeInRequestObject(params: Params): string | undefined {
  const object = params.get('request')
  if (object === undefined || object.length > MAX_UNVERIFIED_LENGTH) return undefined
  const [, payload = ''] = object.split('.')
  const mode = memberOf(parseJson(Buffer.from(payload, 'base64url').toString('utf8')), 'response_mode')
  return typeof mode === 'string' ? mode : undefined
}
