#ifndef TOOLS_LAYRUB_REPORT_PAGE_FILES_HPP_
#define TOOLS_LAYRUB_REPORT_PAGE_FILES_HPP_

namespace layrub_tool {

// The files of the folder page/, which the build embeds in the program.
extern const char kPageHtml[];      ///< page.html, with {{marks}} to fill in
extern const char kPageCss[];       ///< page.css
extern const char kPageScript[];    ///< page.js and the other scripts
extern const char kChartJs[];       ///< chart.js/chart.min.js: the library Chart.js
extern const char kChartLicence[];  ///< chart.js/LICENSE

}  // namespace layrub_tool

#endif  // TOOLS_LAYRUB_REPORT_PAGE_FILES_HPP_
