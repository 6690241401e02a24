import { isParsableUrl } from '../../base/text/parsable-url.ts'

/** The display metadata of a client on the home page; not part of the client's record. */
export interface ClientMetadata {
  readonly clientId: string
  /** The client's own name. */
  readonly clientName?: string
  readonly showOnHomePage: boolean
  /** The start URL of the application; http or https. */
  readonly appLaunchUrl?: string
  /** A PNG in base64; empty if the last change had none. */
  readonly appIcon?: string
  /** The id of the user who created the client, or who created the client that created it. */
  readonly createdBy?: string
}

/** A change of the metadata; without a name, the name is kept. */
export type ClientDescription = Pick<ClientMetadata, 'clientName' | 'showOnHomePage' | 'appLaunchUrl'> & {
  readonly appIcon: string
}

/** Whether a page may link to the URL: http and https only, so that no script runs. */
export const isLaunchUrl = (text: string): boolean => /^https?:\/\/[^\s]+$/i.test(text) && isParsableUrl(text)

/** Whether the text is base64 with padding (RFC 4648 §4); pages embed it unchanged. */
export const isIcon = (text: string): boolean =>
  /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text)

/** The display metadata in a client of the configuration; not part of the client. */
export interface HomePageMembers {
  readonly showOnHomePage?: boolean
  readonly appLaunchUrl?: string
  readonly appIcon?: string
}

/** Separates the display metadata from the record; undefined if it has none. */
export function takeHomePage<T extends HomePageMembers>(
  record: T,
): { readonly rest: Omit<T, keyof HomePageMembers>; readonly shown: ClientDescription | undefined } {
  const { showOnHomePage, appLaunchUrl, appIcon, ...rest } = record
  const isEmpty = showOnHomePage === undefined && appLaunchUrl === undefined && appIcon === undefined
  const shown = {
    showOnHomePage: showOnHomePage ?? false,
    ...(appLaunchUrl !== undefined && { appLaunchUrl }),
    appIcon: appIcon ?? '',
  }
  return { rest, shown: isEmpty ? undefined : shown }
}
