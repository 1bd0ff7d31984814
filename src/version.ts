/** What this server says of itself: our own version, and the level of the API it speaks. */
export const VERSION = '0.1.0'
export const API_LEVEL = '3.5.0'
export const VENDOR_NAME = 'Gurney'
/** The level of the application's API. */
export const APPLICATION_LEVEL = '4.18.0'
