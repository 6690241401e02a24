// The pages of a logout: the confirmation, and the signed-out page.
import type { FastifyReply } from 'fastify'
import type { AddressedZone } from '../../model/request.ts'
import type { Destination } from '../../model/sessions/destination.ts'
import { LOGOUT_PATH } from '../../model/sessions/logout-return.ts'
import { logoutConfirmationPage } from '../../pages/logout-confirmation.ts'
import { signedOutPage } from '../../pages/signed-out.ts'
import { PageError } from '../../web/answers.ts'
import type { Exchange } from '../../web/exchange.ts'
import type { SignedInUser } from '../../web/sessions/current-session.ts'
import type { Params } from '../params.ts'
import { redirectParameterName } from './targets.ts'
import type { OAuthDeps } from '../deps.ts'

/** The parameters that are repeated: in the confirmation form, and in the URL when a posted form is requested again by GET. */
const FORWARDED_PARAMETERS = ['post_logout_redirect_uri', 'client_id', 'state', 'id_token_hint', 'ui_locales']
/** Together, in characters: as in the query of `/oauth/authorize`; a browser or a proxy would refuse a longer URL. */
const MAX_FORWARDED_LENGTH = 8000
/** Browsers without script count from when the frames are loaded; there is a button, too. */
const WAIT_SECONDS = 6

/** The field of the confirmation form that marks its answer. */
export const CONFIRMED = 'confirmed'

/** The names of the repeated parameters. */
export const forwardedNames = (zone: AddressedZone): readonly string[] => [
  ...FORWARDED_PARAMETERS,
  redirectParameterName(zone),
]

/** Refuses repeated parameters that are too long together. */
export function checkForwardedLength(length: number): void {
  if (length <= MAX_FORWARDED_LENGTH) return
  throw new PageError(400, 'The request is too long.', { code: 'invalid_request' })
}

/** Asks the user whether to sign out; the form repeats the request. */
export async function askForConfirmation(
  { request, reply }: Exchange,
  { params, signedIn }: { readonly params: Params; readonly signedIn: SignedInUser },
  { pages, urls }: OAuthDeps,
): Promise<FastifyReply> {
  const fields = forwardedNames(request.zone).flatMap(name => {
    const value = params.get(name)
    return value === undefined ? [] : [[name, value] as const]
  })
  checkForwardedLength(fields.reduce((length, [, value]) => length + value.length, 0))
  const chrome = await pages.chrome(request, reply, { form: true })
  const page = logoutConfirmationPage(chrome, {
    action: `${urls.pathOf(request.zone)}${LOGOUT_PATH}`,
    fields: Object.fromEntries([...fields, [CONFIRMED, 'true']]),
    userName: signedIn.user.userName,
  })
  return pages.send(reply, page)
}

/** Front-Channel Logout §2: the frames, and what follows when they are loaded; otherwise a link to the offered URL. */
export async function showFrames(
  { request, reply }: Exchange,
  {
    frames,
    destination,
    offeredUrl,
  }: {
    readonly frames: readonly string[]
    readonly destination: Destination | undefined
    readonly offeredUrl: string | undefined
  },
  { pages, urls }: OAuthDeps,
): Promise<FastifyReply> {
  const chrome = await pages.chrome(request, reply)
  const signInUrl = `${urls.pathOf(request.zone)}/login`
  // For browsers without script; a form waits for its button.
  if (typeof destination === 'string') reply.header('refresh', `${WAIT_SECONDS}; url=${new URL(destination).href}`)
  const page = signedOutPage(chrome, { signInUrl, frames, continueUrl: destination, offeredUrl })
  return pages.send(reply, page, { frames })
}

/** Shows that the user is signed out, with a link to the offered URL. */
export async function showSignedOut(
  { request, reply }: Exchange,
  offeredUrl: string | undefined,
  { pages, urls }: OAuthDeps,
): Promise<FastifyReply> {
  const chrome = await pages.chrome(request, reply)
  return pages.send(reply, signedOutPage(chrome, { signInUrl: `${urls.pathOf(request.zone)}/login`, offeredUrl }))
}
