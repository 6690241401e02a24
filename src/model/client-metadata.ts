/** How a client is shown among a person's applications; kept beside the record, which it is no part of. */
export interface ClientMetadata {
  readonly clientId: string
  /** The client's own name. */
  readonly clientName?: string
  readonly showOnHomePage: boolean
  /** Where the application begins; http or https. */
  readonly appLaunchUrl?: string
  /** A PNG in base64; empty where the last change named none. */
  readonly appIcon?: string
  /** The id of the user who made the client, or of the one who made the client that made it. */
  readonly createdBy?: string
}

/** What a change of the metadata sets; a name is kept where none is given. */
export type ClientDescription = Pick<ClientMetadata, 'clientName' | 'showOnHomePage' | 'appLaunchUrl'> & {
  readonly appIcon: string
}

/** Where a page of ours may lead: nothing that runs in it. */
export const isLaunchUrl = (text: string): boolean => /^https?:\/\/[^\s]+$/i.test(text) && URL.canParse(text)

/** RFC 4648 §4, with its padding: an icon becomes a part of a page as it is. */
export const isIcon = (text: string): boolean =>
  /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text)

/** How a record of the configuration says that its client is shown; none of it belongs to the client itself. */
export interface HomePageMembers {
  readonly showOnHomePage?: boolean
  readonly appLaunchUrl?: string
  readonly appIcon?: string
}

/** The record without what says how its client is shown, and that; undefined where it says nothing. */
export function takeHomePage<T extends HomePageMembers>(
  record: T,
): { readonly rest: Omit<T, keyof HomePageMembers>; readonly shown: ClientDescription | undefined } {
  const { showOnHomePage, appLaunchUrl, appIcon, ...rest } = record
  const saysNothing = showOnHomePage === undefined && appLaunchUrl === undefined && appIcon === undefined
  const shown = {
    showOnHomePage: showOnHomePage ?? false,
    ...(appLaunchUrl !== undefined && { appLaunchUrl }),
    appIcon: appIcon ?? '',
  }
  return { rest, shown: saysNothing ? undefined : shown }
}
