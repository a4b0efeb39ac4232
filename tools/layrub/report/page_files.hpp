#ifndef TOOLS_LAYRUB_REPORT_PAGE_FILES_HPP_
#define TOOLS_LAYRUB_REPORT_PAGE_FILES_HPP_

namespace layrub_tool {

// The files of the folder page/, which the build puts into the program.
extern const char kPageHtml[];      ///< page.html: {{marks}} stand for what differs
extern const char kPageCss[];       ///< page.css
extern const char kPageScript[];    ///< page.js and the other scripts
extern const char kChartJs[];       ///< chart.js/chart.min.js: the library Chart.js
extern const char kChartLicence[];  ///< chart.js/LICENSE

}  // namespace layrub_tool

#endif  // TOOLS_LAYRUB_REPORT_PAGE_FILES_HPP_
